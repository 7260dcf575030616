import sys; sys.argv=["gen.py","llama","generate"]; exec(open("/tmp/m5/gen.py").read())
