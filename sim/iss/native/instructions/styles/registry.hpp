// Instructions of all styles of tensor units, each of which has a case in `execute`.
#pragma once
#include "instructions/styles/register_fed/hmma.hpp"
#include "instructions/styles/shared_fed/hgmma.hpp"
