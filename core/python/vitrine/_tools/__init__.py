"""What the command line runs: recording, measuring, timelines, benchmarks, the doctor."""
