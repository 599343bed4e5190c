"""Participants' trials: reading any lab's CSV by a protocol, checking it, encoding it, and writing it again."""
