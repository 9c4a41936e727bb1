/* A number as decimal digits. */
#ifndef SPICA_DECIMAL_H
#define SPICA_DECIMAL_H

#define DECIMAL_BYTES 352
#define LARGEST_PRECISION 32

/* Writes the digits of a finite number, its sign left out, with `precision` digits behind the
 * point: rounded to nearest, ties to even. Digits begin at the result and end before `*end`, all
 * of it in `text` of DECIMAL_BYTES. A point without digits is written where `is_pointed`. */
char *spica_write_decimal(char *text, double value, int precision, int is_pointed, char **end);

#endif
