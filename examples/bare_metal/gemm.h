/* A product on the cluster: small integers in FP16, so that every sum is exact. */
#ifndef GEMM_H
#define GEMM_H

#include <stdint.h>

#include "spica_driver.h"

/* Writes A and B, whose places and sizes the generated header has. */
void gemm_fill(uint16_t *a, uint16_t *b);

/* Multiplies. `clock` receives the clock after the first compute and after the last one. */
enum spica_status gemm_run(uint32_t clock[2]);

/* Returns the number of wrong elements of C. */
uint32_t gemm_wrong(const uint16_t *c);

#endif
