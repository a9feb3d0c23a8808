// SPDX-License-Identifier: Apache-2.0
// Models in JavaScript, for node and browsers:
//
//   const ingot = await require("./ingot.js")();
//   const model = new ingot.Model(fs.readFileSync("mlp.pt2"));
//   const { linear_1 } = model.run({ x: { data: new Float32Array(12), dims: [3, 4] } });
//   model.close();
//
// An output is { data, dims, dtype }; data is a copy, a typed array where JavaScript has the dtype, otherwise bytes.
"use strict";

const create = require("./ingot-core.js");

const ARRAYS = {
  float32: Float32Array, float64: Float64Array, int32: Int32Array, int16: Int16Array, int8: Int8Array,
  uint8: Uint8Array, bool: Uint8Array, int64: BigInt64Array, uint16: Uint16Array, uint32: Uint32Array, uint64: BigUint64Array,
};
const MOST_DIMS = 64;

module.exports = async function (options) {
  const core = await create(options);
  const text = (at) => core.UTF8ToString(at);

  // Memory of the module: what it refers to may move when the memory grows, so views are made when they are used.
  function copyIn(bytes) {
    const at = core._malloc(bytes.length || 1);
    if (!at) throw new Error("out of memory");
    core.HEAPU8.set(bytes, at);
    return at;
  }
  const bytesOf = (a) => new Uint8Array(a.buffer, a.byteOffset, a.byteLength);

  class Model {
    constructor(file) {
      this.file = copyIn(file);
      this.inputsAt = [];
      this.handle = core._wasm_open(this.file, file.length);
      if (!this.handle) {
        core._free(this.file);
        throw new Error("out of memory");
      }
      if (core._wasm_count(this.handle, 1) === 0) this.fail();
    }

    fail() {
      const message = text(core._wasm_error(this.handle));
      if (message) throw new Error(message);
    }

    ports(output) {
      const n = core._wasm_count(this.handle, output);
      return Array.from({ length: n }, (_, i) => ({
        name: text(core._wasm_name(this.handle, output, i)),
        dtype: text(core._wasm_dtype(this.handle, output, i)),
      }));
    }

    get inputs() {
      const room = core._malloc(8 * MOST_DIMS);
      const list = this.ports(0).map((port, i) => {
        const n = core._wasm_sizes(this.handle, i, room);
        return { ...port, dims: n < 0 ? null : Array.from(new Float64Array(core.HEAPU8.buffer, room, n)) };
      });
      core._free(room);
      return list;
    }

    get outputs() {
      return this.ports(1);
    }

    bind(i, { data, dims }) {
      const sizes = copyIn(bytesOf(Float64Array.from(dims)));
      const at = copyIn(bytesOf(data));
      this.inputsAt.push(at);
      const ok = core._wasm_set(this.handle, i, sizes, dims.length, at, data.byteLength);
      core._free(sizes);
      if (!ok) this.fail();
    }

    read(i, port) {
      const room = core._malloc(8 * MOST_DIMS + 8);
      const at = core._wasm_output(this.handle, i, room, room + 8 * MOST_DIMS, room + 8 * MOST_DIMS + 4);
      const [ndim, bytes] = new Uint32Array(core.HEAPU8.buffer, room + 8 * MOST_DIMS, 2);
      const dims = at ? Array.from(new Float64Array(core.HEAPU8.buffer, room, ndim)) : null;
      core._free(room);
      if (!at) return null;
      const kind = ARRAYS[port.dtype] || Uint8Array;
      return { data: new kind(core.HEAPU8.slice(at, at + bytes).buffer), dims, dtype: port.dtype };
    }

    run(values) {
      const inputs = this.ports(0);
      try {
        for (const [name, value] of Object.entries(values)) {
          const i = inputs.findIndex((port) => port.name === name);
          if (i < 0) throw new Error(`the model has no input '${name}'; its inputs: ${inputs.map((p) => p.name).join(", ")}`);
          this.bind(i, value);
        }
        if (!core._wasm_run(this.handle)) this.fail();
        return Object.fromEntries(this.outputs.map((port, i) => [port.name, this.read(i, port)]));
      } finally {
        for (const at of this.inputsAt.splice(0)) core._free(at);
      }
    }

    close() {
      core._wasm_close(this.handle);
      core._free(this.file);
      this.handle = 0;
    }
  }
  return { Model };
};
