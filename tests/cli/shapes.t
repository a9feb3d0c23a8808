$ ingot shapes mlp.pt2
inputs
  x dim 0                  3
  x dim 1                  4
all sizes are fixed

$ ingot shapes mlp.pt2 --json
{
  "file": "mlp.pt2",
  "inputs": [
    {
      "input": "x",
      "dim": 0,
      "name": null,
      "min": 3,
      "max": 3
    },
    {
      "input": "x",
      "dim": 1,
      "name": null,
      "min": 4,
      "max": 4
    }
  ],
  "sizes": [],
  "relations": []
}

$ ingot shapes mlp.in.npz
2> ingot: mlp.in.npz: this NumPy archive (.npz) contains no program; ingot info lists what it contains
[3]

$ ingot shapes derived_dims.pt2
inputs
  x dim 0                  s77          2 to 100
  y dim 0                  2*s77 + 1    5 to 201
sizes
  s77                     2 to 100         x dim 0
  2*s77 + 1               5 to 201         y dim 0
  2*s77                   4 to 200         cat dim 0                 /golden/generate.py:833: return torch.cat([x, x * self.scale]) + y[1:], y.sum() * x.shape[0]
relations
  (2*L['x'].size()[0]) == ((-1) + L['y'].size()[0])

$ ingot shapes item_size.pt2
inputs
  x dim 0                  3
  k                        no dimensions
sizes
  u0                      2 to 50          item                      /golden/generate.py:791: n = k.item()
relations
  u0 >= 2                                   /golden/generate.py:791: n = k.item()
  u0 <= 50                                  /golden/generate.py:791: n = k.item()

$ ingot shapes --json item_size.pt2
{
  "file": "item_size.pt2",
  "inputs": [
    {
      "input": "x",
      "dim": 0,
      "name": null,
      "min": 3,
      "max": 3
    }
  ],
  "sizes": [
    {
      "name": "u0",
      "min": 2,
      "max": 50,
      "value": "item",
      "dim": null,
      "input": false,
      "file": "/golden/generate.py",
      "line": 791,
      "source": "n = k.item()"
    }
  ],
  "relations": [
    {
      "text": "u0 >= 2",
      "file": "/golden/generate.py",
      "line": 791,
      "source": "n = k.item()"
    },
    {
      "text": "u0 <= 50",
      "file": "/golden/generate.py",
      "line": 791,
      "source": "n = k.item()"
    }
  ]
}

# Sizes of an ONNX model have the names that its inputs have, everywhere
$ ingot convert derived_dims.pt2 d.onnx --no-check && ingot rename d.onnx rows.onnx --dims s77=rows 2>/dev/null && ingot shapes rows.onnx
inputs
  x dim 0                  rows         0 to any
  y dim 0                  2*rows + 1   0 to any
sizes
  rows                    0 to any         x dim 0
  2*rows + 1              5 to any         y dim 0
  2*rows                  4 to any         cat dim 0

$ ingot info rows.onnx --layers
module   class                    parameters               FLOPs   activations
(model)                                    4                   0  20*rows + 28

$ ingot info rows.onnx --layers --size row=2
2> ingot: --size: no input has a size 'row'; there is rows (at least 0)
[2]

$ ingot info rows.onnx --layers --size rows=-1
2> ingot: --size: rows cannot be -1; expected rows (at least 0)
[2]
