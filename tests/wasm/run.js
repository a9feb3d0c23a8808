// SPDX-License-Identifier: Apache-2.0
// node tests/wasm/run.js INGOT-JS FOLDER: models run as they do elsewhere, and what is no model is an error in words.
"use strict";

const assert = require("assert");
const fs = require("fs");
const path = require("path");

async function main(library, folder) {
  const wasmBinary = fs.readFileSync(path.join(path.dirname(path.resolve(library)), "ingot-core.wasm"));
  const ingot = await require(path.resolve(library))({ wasmBinary });
  const model = new ingot.Model(fs.readFileSync(path.join(folder, "mlp.pt2")));
  assert.deepStrictEqual(model.inputs, [{ name: "x", dtype: "float32", dims: [3, 4] }]);

  const expected = [-0.147191, 0.209443];
  const ones = new Float32Array(12).fill(1);
  for (let i = 0; i < 3; i++) {
    const y = model.run({ x: { data: ones, dims: [3, 4] } }).linear_1;
    assert.deepStrictEqual(y.dims, [3, 2]);
    y.data.forEach((v, k) => assert(Math.abs(v - expected[k % 2]) < 1e-6, `element ${k} is ${v}`));
  }
  assert.throws(() => model.run({ y: { data: ones, dims: [3, 4] } }), /no input 'y'/);
  assert.throws(() => model.run({ x: { data: ones, dims: [4, 3] } }), /x|size|shape/i);
  model.close();

  for (const name of ["cnn.pt2", "mixed.pt2", "attention.pt2"]) {
    const other = new ingot.Model(fs.readFileSync(path.join(folder, name)));
    assert(other.inputs.length > 0);
    other.close();
  }
  assert.throws(() => new ingot.Model(Buffer.from("no model at all")), /model/);
  assert.throws(() => new ingot.Model(fs.readFileSync(path.join(folder, "mlp.pt2")).subarray(0, 4000)), /zip|cut|archive/i);

  const start = process.hrtime.bigint();
  const again = new ingot.Model(fs.readFileSync(path.join(folder, "mlp.pt2")));
  const opened = process.hrtime.bigint();
  for (let i = 0; i < 1000; i++) again.run({ x: { data: ones, dims: [3, 4] } });
  const ran = process.hrtime.bigint();
  again.close();
  console.log(`wasm: opened in ${(Number(opened - start) / 1e6).toFixed(1)} ms, a run takes ${(Number(ran - opened) / 1e6).toFixed(1)} us`);
}

main(...process.argv.slice(2)).catch((error) => {
  console.error(error.stack || error);
  process.exit(1);
});
