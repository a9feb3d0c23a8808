// SPDX-License-Identifier: Apache-2.0
// Everything at once. ingot/aten.h (a typed call per operator) is the largest of them.
#ifndef INGOT_INGOT_H_
#define INGOT_INGOT_H_

#include "ingot/aot.h"
#include "ingot/aten.h"
#include "ingot/autocast.h"
#include "ingot/batch.h"
#include "ingot/ctx.h"
#include "ingot/diff.h"
#include "ingot/dims.h"
#include "ingot/explain.h"
#include "ingot/export.h"
#include "ingot/file.h"
#include "ingot/grad.h"
#include "ingot/graph.h"
#include "ingot/hop.h"
#include "ingot/layers.h"
#include "ingot/library.h"
#include "ingot/limits.h"
#include "ingot/model.h"
#include "ingot/object.h"
#include "ingot/onnx.h"
#include "ingot/op.h"
#include "ingot/pass.h"
#include "ingot/program.h"
#include "ingot/report.h"
#include "ingot/script.h"
#include "ingot/stats.h"
#include "ingot/status.h"
#include "ingot/tensor.h"
#include "ingot/text.h"
#include "ingot/texts.h"
#include "ingot/threads.h"
#include "ingot/version.h"
#include "ingot/view.h"

#endif
