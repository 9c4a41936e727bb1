/* Platform of this computer: registers are those of a simulation, through functions of Python. */
#include "spica_driver.h"

typedef uint32_t (*reader)(uint32_t address);
typedef void (*writer)(uint32_t address, uint32_t data);

static reader read_register;
static writer write_register;

void platform_connect(reader read, writer write)
{
    read_register = read;
    write_register = write;
}

uint32_t spica_read(uint32_t address) { return read_register(address); }

void spica_write(uint32_t address, uint32_t data) { write_register(address, data); }
