import sys; sys.argv=["gen.py","gemma2","generate"]; exec(open("/tmp/m5/gen.py").read())
