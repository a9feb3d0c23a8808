def fn(n: int):
  return [i * i for i in range(n)]
