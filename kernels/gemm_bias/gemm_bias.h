/* Bias of a column of C: the value kept for it, one FP32 number of the array `more`. */
#ifndef GEMM_BIAS_H
#define GEMM_BIAS_H

#include "../gemm/gemm_finish.h"

SPICA_INLINE float finish_column(const void *more, uint32_t column)
{
    return ((const float *)more)[column];
}

#endif
