if x:
        y
    z
