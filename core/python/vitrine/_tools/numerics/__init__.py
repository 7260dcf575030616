"""What compares compiled programs value by value, finds where they turn wrong, and makes them small."""
