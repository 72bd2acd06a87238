"""The compiled loops: plain arrays in and out, checked before they come here."""
