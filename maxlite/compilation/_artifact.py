def write_artifact(path, staged):
    raise NotImplementedError
