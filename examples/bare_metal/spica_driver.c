#include "spica_driver.h"

#define IDENTITY 0x53504943u

enum spica_status spica_probe(void)
{
    return spica_read(SPICA_CONTROL_IDENTITY) == IDENTITY ? SPICA_OK : SPICA_ABSENT;
}

static int is_reached(const struct spica_command *command, uint32_t value)
{
    if (command->operation == SPICA_WAIT_EQUAL)
        return (value & command->mask) == command->data;
    return (int32_t)(value - command->data) >= 0;
}

static enum spica_status errors(void)
{
    if (spica_read(SPICA_DMA_ERROR))
        return SPICA_BUS_ERROR;
    return spica_read(SPICA_MATRIX_ERROR) ? SPICA_REFUSED : SPICA_OK;
}

enum spica_status spica_execute(const struct spica_command *commands, uint32_t count,
                                uint32_t *results, uint32_t reads)
{
    for (const struct spica_command *command = commands; command < commands + count; command++) {
        if (command->operation == SPICA_WRITE) {
            spica_write(command->address, command->data);
        } else if (command->operation == SPICA_READ) {
            uint32_t value = spica_read(command->address);
            if (results)
                *results++ = value;
        } else {
            uint32_t left = reads;
            while (!is_reached(command, spica_read(command->address))) {
                if (--left == 0)
                    return SPICA_TIMEOUT;
            }
        }
    }
    return errors();
}
