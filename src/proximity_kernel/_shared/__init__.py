"""What the whole package uses: options, threads, messages, safe writing of files."""
