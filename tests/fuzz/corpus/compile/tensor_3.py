def fn(x: Tensor):
  def_value = annotate(List[int], [])
  for i in range(x.size(0)):
    def_value.append(int(x[i][0]))
    if i == 1:
      return def_value, True
  return def_value, False
