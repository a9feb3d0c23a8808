def fn(n: int):
  return n.foo
