"""The compiled loops. They take and fill plain arrays that callers have checked."""
