UPDATE blob SET raw_bytes = 2147483647;
