$ ingot convert mlp.pt2 mlp.onnx --no-check && ingot simplify mlp.onnx small.onnx
2>   Gemm                            2 -> 2
2>   Relu                            1 -> 1
2>   nodes                           3 -> 3
2>   initializers                    4 -> 4
2>   linear_1                 max abs \S+ +max rel \S+ +max ulp \S+ +agrees (re)
2> small.onnx: checked against mlp.onnx

$ ingot simplify mlp.pt2 small.onnx
2> ingot: mlp.pt2: this exported program (.pt2) is not edited; ONNX models are: ingot convert mlp.pt2 model.onnx
[3]

$ ingot simplify small.onnx one.onnx --fix nothing=1
2> ingot: small.onnx: there is no size 'nothing'; the most similar are 'x:0', 'x:1'
[3]

$ ingot extract mlp.onnx part.onnx --to relu && ingot info part.onnx | head -8
part.onnx: ONNX model, 1.1 kB
  IR 8, opset 18, producer ingot 0.1.0
inputs
  x                        float32[3, 4]
outputs
  relu                     float32[3, 8]
weights 2 tensors, 40 elements, 160 B
  fc1.weight               float32[8, 4]
2>   from x
2>   to   relu
2>   relu                     max abs \S+ +max rel \S+ +max ulp \S+ +agrees (re)
2> part.onnx: checked against mlp.onnx

$ ingot extract mlp.onnx part.onnx --to rely
2> ingot: mlp.onnx: there is no value, node or module 'rely'; the most similar are 'relu', 'x', 'fc1', 'fc2'
[3]

$ ingot rename mlp.onnx named.onnx 'fc1.*=first.*' x=image && ingot info named.onnx | tail -5
operators 3 calls of 2 kinds
        2 Gemm
        1 Relu
metadata
  graph                    main_graph
2>   linear_1                 max abs \S+ +max rel \S+ +max ulp \S+ +agrees (re)
2> named.onnx: checked against mlp.onnx

$ ingot rename mlp.onnx named.onnx
2> ingot rename: what is to be renamed? OLD=NEW
2> usage: ingot rename FILE OUT OLD=NEW... [OPTIONS]
2>        ingot rename --help has details
[2]

$ ingot rename mlp.onnx named.onnx fc1.weight=fc2.weight
2> ingot: mlp.onnx: 'fc1.weight' and 'fc2.weight' would both be called 'fc2.weight'
[3]

$ ingot free-size mlp.onnx free.onnx x:0=batch && ingot fix-size free.onnx fixed.onnx batch=5
2>   linear_1                 max abs \S+ +max rel \S+ +max ulp \S+ +agrees (re)
2> free.onnx: checked against mlp.onnx
2>   linear_1                 max abs \S+ +max rel \S+ +max ulp \S+ +agrees (re)
2> fixed.onnx: checked against free.onnx

$ ingot free-size mlp.onnx free.onnx x=batch
2> ingot free-size: 'x=batch' is not INPUT:DIM=NAME
2> usage: ingot free-size FILE OUT INPUT:DIM=NAME... [OPTIONS]
2>        ingot free-size --help has details
[2]

$ ingot extract mlp.onnx rest.onnx --from relu && ingot merge part.onnx rest.onnx whole.onnx && ingot diff mlp.onnx whole.onnx --only numbers | tail -1
no difference
2>   from relu
2>   to   linear_1
2>   linear_1                 max abs \S+ +max rel \S+ +max ulp \S+ +agrees (re)
2> rest.onnx: checked against mlp.onnx
2>   linear_1                 max abs \S+ +max rel \S+ +max ulp \S+ +agrees (re)
2> whole.onnx: checked against part.onnx and rest.onnx

$ ingot merge mlp.onnx mlp.onnx twice.onnx
2> ingot: mlp.onnx: no output has the name of an input of mlp.onnx: say which are joined
[3]

$ ingot split-weights mlp.onnx split.onnx --min-size 64 && ls split.onnx*
split.onnx
split.onnx.data
2>   linear_1                 max abs \S+ +max rel \S+ +max ulp \S+ +agrees (re)
2> split.onnx: checked against mlp.onnx

$ ingot split-weights split.onnx joined.onnx --join
2>   linear_1                 max abs \S+ +max rel \S+ +max ulp \S+ +agrees (re)
2> joined.onnx: checked against split.onnx

$ ingot quantize mlp.onnx q.onnx
2>   DequantizeLinear                0 -> 2
2>   Gemm                            2 -> 2
2>   Relu                            1 -> 1
2>   nodes                           3 -> 5
2>   initializers                    4 -> 6
2>   quantized  fc1.weight \(Gemm\): int8 per channel 0.00\d+ (re)
2>   quantized  fc2.weight \(Gemm\): int8 per channel 0.00\d+ (re)
2>   linear_1                 max abs \S+ +max rel \S+ +max ulp \S+ +agrees (re)
2> q.onnx: checked against mlp.onnx

$ ingot quantize mlp.onnx q.onnx --to int5
2> ingot quantize: --to: 'int5' is not one of int8, int4, qdq; did you mean int8?
2> usage: ingot quantize FILE OUT [--to KIND] [--calibrate FILE] [OPTIONS]
2>        ingot quantize --help has details
[2]

$ ingot quantize mlp.onnx q.onnx --to qdq
2> ingot: mlp.onnx: quantizing activations needs inputs to calibrate with
[3]

$ ingot convert mlp.onnx half.onnx --dtype float16 2>/dev/null && ingot info half.onnx | tail -4
        2 Gemm
        1 Relu
metadata
  graph                    main_graph

$ ingot convert mlp.onnx half.onnx --dtype float8
2> ingot convert: --dtype: 'float8' is not one of float16, bfloat16
2> usage: ingot convert FILE OUT [--to KIND] [--no-check] [OPTIONS]
2>        ingot convert --help has details
[2]
