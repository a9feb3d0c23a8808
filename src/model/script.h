// SPDX-License-Identifier: Apache-2.0
// What a session of a TorchScript archive has.
#ifndef MODEL_SCRIPT_H_
#define MODEL_SCRIPT_H_

#include "model/model.h"
#include "script/interp.h"

typedef struct ig_model_script {
  ig_sobj_instance *module;
  ig_sfunction *forward;
} ig_model_script;

#endif
