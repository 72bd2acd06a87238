"""Used by every stage: options, threads, optional packages, safe writing of files."""
