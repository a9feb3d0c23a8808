$ ingot stats mlp.pt2
mlp.pt2
  fc1.weight  float32[8, 4]
    -0.4888     to 0.4743      mean 0.03055     deviation 0.2377      |+  -#+###+#-@# +|
  fc1.bias    float32[8]
    -0.4754     to 0.4391      mean -0.06309    deviation 0.3294      |@   @ +     + ++|
  fc2.weight  float32[2, 8]
    -0.3399     to 0.3522      mean 0.02941     deviation 0.2117      |-  @-*--  - *--*|
  fc2.bias    float32[2]
    -0.236      to -0.01655    mean -0.1263     deviation 0.1097      |@              @|
total 4 weights, 58 elements, zeros 0.0 %, not finite 0, repeated weights 0

$ ingot stats mlp.pt2 --only bias --json
{
  "file": "mlp.pt2",
  "weights": [
    {
      "name": "fc1.bias",
      "count": 8,
      "zeros": 0,
      "nan": 0,
      "infinite": 0,
      "min": -0.47540420293807983,
      "max": 0.439055860042572,
      "mean": -0.06308922916650772,
      "deviation": 0.3294453265305776,
      "bins": [
        2,
        0,
        0,
        0,
        2,
        0,
        1,
        0,
        0,
        0,
        0,
        0,
        1,
        0,
        1,
        1
      ],
      "same_as": null
    },
    {
      "name": "fc2.bias",
      "count": 2,
      "zeros": 0,
      "nan": 0,
      "infinite": 0,
      "min": -0.23599091172218323,
      "max": -0.01655464991927147,
      "mean": -0.12627278082072735,
      "deviation": 0.10971813090145588,
      "bins": [
        1,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        1
      ],
      "same_as": null
    }
  ]
}

$ ingot stats mlp.pt2 --only nothing
2> ingot: mlp.pt2: no weight has 'nothing' in its name
[2]

$ ingot stats mlp.in.npz --finite
mlp.in.npz
  arr_0     float32[3, 4]
    -1.516      to 2.282       mean 0.3415      deviation 1.189       |+++ ++  @+++   @|
total 1 weights, 12 elements, zeros 0.0 %, not finite 0, repeated weights 0
