// SPDX-License-Identifier: Apache-2.0
// Forms: several steps that together are one operator, which has a kernel of its own. Exporters
// write operators as formulas (GELU by erf, attention by products and a softmax), and a plan finds
// the operators again.
#ifndef RT_FORMS_H_
#define RT_FORMS_H_

#include "rt/layer.h"

// What is looked at, and the earliest step that was.
typedef struct ig_rt_form {
  ig_binding *b;
  size_t first;
} ig_rt_form;

// The step that computes the memory that t shows; NULL: it is an input, a constant, or no call.
ig_rt_step *ig_form_producer(const ig_binding *b, const ig_tensor *t);
// The step that computed t, if it has this role and t is its result as a whole; NULL otherwise.
ig_rt_step *ig_form_made_by(ig_rt_form *f, const ig_tensor *t, ig_role role);
// The same, where t may have other dimensions than the result, but shows its elements in order.
ig_rt_step *ig_form_made_flat(ig_rt_form *f, const ig_tensor *t, ig_role role);
bool ig_form_is_number(const ig_binding *b, const ig_value *v, double *out);
// t = number * result: the operand of one step that multiplies by a number or divides by one. NULL:
// t is no such product.
ig_tensor *ig_form_unscaled(ig_rt_form *f, const ig_tensor *t, double *number);
// May what the form reads be read at step `s` instead?
bool ig_form_is_undisturbed(const ig_rt_form *f, const ig_rt_step *s);
// Attention that ends with step i, a product of matrices. False after an error.
bool ig_form_find_attention(ig_binding *b, const ig_rt_use *uses, size_t i);

#endif
