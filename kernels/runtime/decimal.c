/* Decimal digits of a double. One thread of a warp at a time runs this: it branches on values. */
#include "decimal.h"

#include "spica.h"

#define LIMBS 35          /* 32-bit limbs for the integer part of any double */
#define GROUP 1000000000u /* nine decimal digits at a time */

typedef struct {
    uint32_t whole[LIMBS]; /* lowest first */
    uint64_t fraction;     /* in units of 2^-64; the lowest bit is sticky */
} Parts;

/* Returns the significand of a finite number, which is significand * 2^places. */
static uint64_t significand_of(double value, int *places)
{
    uint64_t bits = __builtin_bit_cast(uint64_t, value);
    int exponent = (int)(bits >> 52 & 0x7FF);
    *places = (exponent ? exponent : 1) - 1075;
    return (bits & 0xFFFFFFFFFFFFFull) | (uint64_t)(exponent != 0) << 52;
}

static Parts parts_of(double value)
{
    Parts parts = {0};
    int places;
    uint64_t significand = significand_of(value, &places);
    if (places >= 0) {
        int limb = places >> 5, shift = places & 31;
        uint64_t low = significand << shift;
        parts.whole[limb] = (uint32_t)low;
        parts.whole[limb + 1] = (uint32_t)(low >> 32);
        parts.whole[limb + 2] = shift ? (uint32_t)(significand >> (64 - shift)) : 0;
    } else if (places > -64) {
        uint64_t whole = significand >> -places;
        parts.whole[0] = (uint32_t)whole;
        parts.whole[1] = (uint32_t)(whole >> 32);
        parts.fraction = significand << (64 + places);
    } else if (places > -128) {
        uint64_t lost = significand & ((1ull << (-places - 64)) - 1);
        parts.fraction = significand >> (-places - 64) | (lost != 0);
    } else {
        parts.fraction = significand != 0;
    }
    return parts;
}

/* Writes the digits of an integer before `end`; destroys the limbs. */
static char *write_whole(char *end, uint32_t *limbs)
{
    char *at = end;
    int count = LIMBS;
    while (count > 0 && limbs[count - 1] == 0)
        count--;
    while (count > 0) {
        uint64_t rest = 0;
        for (int k = count - 1; k >= 0; k--) {
            rest = rest << 32 | limbs[k];
            limbs[k] = (uint32_t)(rest / GROUP);
            rest %= GROUP;
        }
        while (count > 0 && limbs[count - 1] == 0)
            count--;
        uint32_t group = (uint32_t)rest;
        for (int k = 0; k < 9 && (count > 0 || group); k++, group /= 10)
            *--at = (char)('0' + group % 10);
    }
    if (at == end)
        *--at = '0';
    return at;
}

/* Adds one in the last place; a carry may prepend a digit. */
static char *increment(char *start, char *end)
{
    for (char *at = end - 1; at >= start; at--) {
        if (*at == '.')
            continue;
        if (*at != '9') {
            ++*at;
            return start;
        }
        *at = '0';
    }
    *--start = '1';
    return start;
}

char *spica_write_decimal(char *text, double value, int precision, int is_pointed, char **end)
{
    Parts parts = parts_of(value);
    char *at = text + DECIMAL_BYTES - LARGEST_PRECISION - 1;
    char *start = write_whole(at, parts.whole);
    char last = at[-1];
    if (precision || is_pointed)
        *at++ = '.';
    uint64_t fraction = parts.fraction;
    for (int k = 0; k < precision; k++) {
        uint64_t low = (fraction & 0xFFFFFFFF) * 10;
        uint64_t high = (fraction >> 32) * 10 + (low >> 32);
        *at++ = last = (char)('0' + (high >> 32));
        fraction = high << 32 | (uint32_t)low;
    }
    uint64_t half = 1ull << 63;
    if (fraction > half || (fraction == half && (last & 1)))
        start = increment(start, at);
    *end = at;
    return start;
}

/* Unsigned integer of LIMBS limbs, lowest first. */
typedef struct {
    uint32_t limbs[LIMBS];
} Big;

static void multiply(Big *big, uint32_t factor)
{
    uint64_t carry = 0;
    for (int k = 0; k < LIMBS; k++) {
        carry += (uint64_t)big->limbs[k] * factor;
        big->limbs[k] = (uint32_t)carry;
        carry >>= 32;
    }
}

static void scale(Big *big, int tens)
{
    for (; tens >= 9; tens -= 9)
        multiply(big, GROUP);
    for (; tens > 0; tens--)
        multiply(big, 10);
}

/* Returns a negative number, 0 or a positive number as a is below, equal to or above b. */
static int compare(const Big *a, const Big *b)
{
    for (int k = LIMBS - 1; k >= 0; k--) {
        if (a->limbs[k] != b->limbs[k])
            return a->limbs[k] < b->limbs[k] ? -1 : 1;
    }
    return 0;
}

static void subtract(Big *big, const Big *other)
{
    uint32_t borrow = 0;
    for (int k = 0; k < LIMBS; k++) {
        uint64_t rest = (uint64_t)big->limbs[k] - other->limbs[k] - borrow;
        big->limbs[k] = (uint32_t)rest;
        borrow = (uint32_t)(rest >> 63);
    }
}

static void shift_in(Big *big, uint64_t value, int places)
{
    int limb = places >> 5, shift = places & 31;
    uint64_t low = value << shift;
    big->limbs[limb] = (uint32_t)low;
    big->limbs[limb + 1] = (uint32_t)(low >> 32);
    if (shift && limb + 2 < LIMBS)
        big->limbs[limb + 2] = (uint32_t)(value >> (64 - shift));
}

/* Steele and White, "How to Print Floating-Point Numbers Accurately" (PLDI 1990), fixed format: the
 * number is above / below * 10^exponent, with a quotient from 1 to below 10. */
int spica_write_digits(char *digits, double value, int count)
{
    int places;
    uint64_t significand = significand_of(value, &places);
    if (significand == 0) {
        for (int k = 0; k < count; k++)
            digits[k] = '0';
        return 0;
    }
    Big above = {0}, below = {0};
    shift_in(&above, significand, places > 0 ? places : 0);
    shift_in(&below, 1, places < 0 ? -places : 0);
    int binary = places + 63 - __builtin_clzll(significand);
    int exponent = (binary * 1233) >> 12; /* log10(2) = 1233 / 4096, or one more or less */
    scale(exponent > 0 ? &below : &above, exponent > 0 ? exponent : -exponent);
    if (compare(&above, &below) < 0) {
        multiply(&above, 10);
        exponent--;
    }
    Big tenfold = below;
    multiply(&tenfold, 10);
    if (compare(&above, &tenfold) >= 0) {
        below = tenfold;
        exponent++;
    }
    for (int k = 0; k < count; k++) {
        if (k)
            multiply(&above, 10);
        digits[k] = '0';
        for (; compare(&above, &below) >= 0; digits[k]++)
            subtract(&above, &below);
    }
    multiply(&above, 2);
    int order = compare(&above, &below);
    if (order > 0 || (order == 0 && (digits[count - 1] & 1))) {
        int k = count - 1;
        for (; k >= 0 && digits[k] == '9'; k--)
            digits[k] = '0';
        if (k < 0) {
            digits[0] = '1';
            exponent++;
        } else {
            digits[k]++;
        }
    }
    return exponent;
}
