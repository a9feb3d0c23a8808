def fn(xs: List[Tensor], f: bool):
  out: Dict[str, Tensor] = {}
  for i, x in enumerate(xs):
    out[str(i)] = torch.relu(x) if f else torch.neg(x)
  return [v for k, v in out.items()]
