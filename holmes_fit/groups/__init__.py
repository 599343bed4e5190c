"""Groups of people: their distributions (``pooling``), and which model describes them (``comparison``)."""
