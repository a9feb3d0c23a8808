def fn(n: int):
  return (1, 'a')[n]
