/* Decimal digits of a double. One thread of a warp at a time runs this: it branches on values. */
#include "decimal.h"

#include "spica.h"

#define LIMBS 35          /* 32-bit limbs for the integer part of any double */
#define GROUP 1000000000u /* nine decimal digits at a time */

typedef struct {
    uint32_t whole[LIMBS]; /* lowest first */
    uint64_t fraction;     /* in units of 2^-64; the lowest bit is sticky */
} Parts;

static Parts parts_of(double value)
{
    Parts parts = {0};
    uint64_t bits = __builtin_bit_cast(uint64_t, value);
    int exponent = (int)(bits >> 52 & 0x7FF);
    uint64_t significand = bits & 0xFFFFFFFFFFFFFull;
    if (exponent)
        significand |= 1ull << 52;
    else
        exponent = 1;
    int places = exponent - 1075; /* the value is significand * 2^places */
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
