/* Decimal digits of a double. */
#ifndef SPICA_DECIMAL_H
#define SPICA_DECIMAL_H

#define DECIMAL_BYTES 352
#define LARGEST_PRECISION 32

/* Writes the digits of a finite number without its sign, `precision` digits after the point,
 * rounded to nearest with ties to even. The digits start at the result and end before `*end`,
 * within `text` of DECIMAL_BYTES. If `is_pointed`, a point is written even without digits after
 * it. */
char *spica_write_decimal(char *text, double value, int precision, int is_pointed, char **end);

/* Writes the first `count` significant digits of a finite number without its sign, rounded to
 * nearest with ties to even. Returns the power of ten of the first digit; 0 for zero. */
int spica_write_digits(char *digits, double value, int count);

#endif
