/* Arguments of a program for tensor units, and the keys that a query attends to. */
#ifndef ATTENTION_SEEN_H
#define ATTENTION_SEEN_H

#include <spica.h>

#include "attention.h"

#define ATTENTION ((const Attention *)spica_arguments())

/* Keys that a query attends to. */
SPICA_INLINE int32_t attention_seen(int32_t row)
{
    const int32_t keys = (int32_t)ATTENTION->keys;
    if (!ATTENTION->causal)
        return keys;
    return spica_max(0, spica_min(keys, row + 1 + keys - (int32_t)ATTENTION->queries));
}

#endif
