"""What every room needs and none of them is about: errors, files, progress, caches, numbers in words."""
