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
2> ingot: mlp.in.npz: this NumPy archive (.npz) holds no program; ingot info lists what it has
[3]
