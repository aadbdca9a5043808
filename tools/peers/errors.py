class PeerError(Exception):
    """A sentence on why an engine cannot be measured or its figures must not be believed."""
