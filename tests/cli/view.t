$ ingot view mlp.pt2 | sed 's/:.*//'; head -c 15 mlp.pt2.html; echo
mlp.pt2.html
<!DOCTYPE html>

$ ingot view mlp.pt2 --svg -o - | grep -o 'class="op">[^<]*'
class="op">x
class="op">aten.linear.default
class="op">aten.relu.default
class="op">aten.linear.default
class="op">output

$ ingot view counter.pt2 --dot -o -
digraph model {
node [shape=box, style=rounded];
n1 [label="x", xlabel="float32[3, 4]", shape=oval];
n2 [label="aten.add_.Tensor", xlabel="int64[]"];
n3 [label="aten.sum.dim_IntList", xlabel="float32[4]"];
n4 [label="aten.add_.Tensor", xlabel="float32[4]"];
n5 [label="aten.mul.Tensor", xlabel="float32[3, 4]"];
n6 [label="aten.add.Tensor", xlabel="float32[3, 4]"];
n7 [label="output", shape=oval];
n1 -> n3;
n3 -> n4;
n1 -> n5;
n2 -> n5;
n5 -> n6;
n4 -> n6;
n6 -> n7;
}

$ ingot view counter.dynamo.onnx --dot -o -
digraph model {
node [shape=box, style=rounded];
n1 [label="x", xlabel="float32[3, 4]", shape=oval];
n2 [label="ReduceSum", xlabel="float32[4]"];
n3 [label="Add", xlabel="float32[4]"];
n4 [label="Add", xlabel="float32[3, 4]"];
n5 [label="output", shape=oval];
n1 -> n2;
n2 -> n3;
n1 -> n4;
n3 -> n4;
n4 -> n5;
}

$ ingot view counter.ts.pt --dot -o -
digraph model {
node [shape=box, style=rounded];
n1 [label="x.1", xlabel="Tensor", shape=oval];
n2 [label="aten::add_", xlabel="Tensor"];
n3 [label="aten::sum", xlabel="Tensor"];
n4 [label="aten::add_", xlabel="Tensor"];
n5 [label="aten::mul", xlabel="Tensor"];
n6 [label="aten::add", xlabel="Tensor"];
n7 [label="output", shape=oval];
n1 -> n3;
n3 -> n4;
n1 -> n5;
n2 -> n5;
n5 -> n6;
n4 -> n6;
n6 -> n7;
}

# Deeper modules are one box.
$ ingot view mlp.pt2 --dot --depth 1 -o -
digraph model {
node [shape=box, style=rounded];
n1 [label="x", xlabel="float32[3, 4]", shape=oval];
n2 [label="fc1", shape=box3d];
n4 [label="aten.relu.default", xlabel="float32[3, 8]"];
n5 [label="fc2", shape=box3d];
n7 [label="output", shape=oval];
n1 -> n2;
n2 -> n4;
n4 -> n5;
n5 -> n7;
}

$ ingot view counter.io.npz
2> ingot: counter.io.npz: this NumPy archive (.npz) has no graph to look at
[3]

$ ingot view mlp.pt2 --svg --dot
2> ingot view: --svg and --dot exclude each other
2> usage: ingot view FILE [FILE2] [--inputs FILE.npz] [--profile FILE] [--serve] [OPTIONS]
2>        ingot view --help has details
[2]

$ ingot view mlp.pt2 --depth -1
2> ingot view: --depth: 0 to 1000
2> usage: ingot view FILE [FILE2] [--inputs FILE.npz] [--profile FILE] [--serve] [OPTIONS]
2>        ingot view --help has details
[2]

$ ingot view mlp.pt2 -o no/such/folder/x.html
2> ingot: no/such/folder/x.html: No such file or directory
[4]

$ ingot view - -o - < mlp.pt2 | tail -1
</html>

$ ingot view cnn.pt2 attention.pt2 --dot -o - | grep -c label
38

$ ingot view mlp.pt2 --inputs mlp.in.npz
2> ingot view: inputs are for two files, whose first differing value they mark
2> usage: ingot view FILE [FILE2] [--inputs FILE.npz] [--profile FILE] [--serve] [OPTIONS]
2>        ingot view --help has details
[2]

$ ingot view mlp.pt2 mlp.pt2 mlp.pt2
2> ingot view: 3 files given, expected 1 to 2
2> usage: ingot view FILE [FILE2] [--inputs FILE.npz] [--profile FILE] [--serve] [OPTIONS]
2>        ingot view --help has details
[2]

$ ingot view mlp.pt2 --serve --svg
2> ingot view: --serve writes no file; leave out --output, --svg and --dot
2> usage: ingot view FILE [FILE2] [--inputs FILE.npz] [--profile FILE] [--serve] [OPTIONS]
2>        ingot view --help has details
[2]

$ echo '{"issues": []}' > none.json; ingot view none.json -o - | grep -o '<p>[^<]*'
<p>0 issues prevent an export

$ echo '{"notes": []}' > none.json; ingot view none.json
2> ingot: none.json: no report of a draft: it has no list of issues; DraftExportReport.to_json() gives one
[3]

$ ingot view mlp.pt2 --profile none.json
2> ingot: mlp.pt2: the profile has neither steps nor values; ingot bench --profile --json writes them
[3]

$ ingot view counter.ts.pt counter.pt2
2> ingot: counter.ts.pt: counter.ts.pt has no program to compare; TorchScript code must be captured first
[3]
