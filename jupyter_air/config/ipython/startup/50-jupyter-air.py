# %air_run in every kernel of this environment. It runs in the person's name space, so it leaves no name there, and an
# environment that shares this folder need not have the package.
with __import__("contextlib").suppress(ImportError):
    __import__("jupyter_air.magics").magics.load_ipython_extension(__import__("IPython").get_ipython())
