def fn(n: int):
  xs = [3, 1, 2]
  xs.sort()
  xs.append(n)
  return xs[1:], xs[-1]
