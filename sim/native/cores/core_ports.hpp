// Ports of one core of `Cores` or of an observed cluster: memory ports and observation ports.
//
// Responses of memory are inputs of `Cores`, but outputs of a cluster: an observer of a cluster
// uses its outputs for both.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "ports.hpp"

namespace spica {

// Stall reasons that observers treat apart: numbers of `StallReason` of the issue stage.
enum Stall : uint32_t {
    kCollectorsFull = 1,
    kScoreboard = 4,
    kMemory = 5,
    kDrain = 6,
};

// Event of an instruction, in the cycles in which `valid` is 1.
struct PlacePorts {
    Field valid, warp, pc;

    PlacePorts(const PortTable& ports, const std::string& name)
        : valid(ports.output(name + "_valid")),
          warp(ports.output(name + "_warp")),
          pc(ports.output(name + "_pc")) {}
};

struct CollectedPorts : PlacePorts {
    Field mask, port, pending, collector;

    CollectedPorts(const PortTable& ports, const std::string& name)
        : PlacePorts(ports, name),
          mask(ports.output(name + "_mask")),
          port(ports.output(name + "_port")),
          pending(ports.output(name + "_pending")),
          collector(ports.output(name + "_collector")) {}
};

// `values` has a word for each thread.
struct DonePorts : PlacePorts {
    Field mask, rd, writes, flags, values;

    DonePorts(const PortTable& ports, const std::string& name)
        : PlacePorts(ports, name),
          mask(ports.output(name + "_mask")),
          rd(ports.output(name + "_rd")),
          writes(ports.output(name + "_writes")),
          flags(ports.output(name + "_flags")),
          values(ports.output(name + "_values")) {}
};

struct FaultPorts : PlacePorts {
    Field cause, lanes, address;

    FaultPorts(const PortTable& ports, const std::string& name, const char* cause_name,
               const char* lanes_name)
        : PlacePorts(ports, name),
          cause(ports.output(name + cause_name)),
          lanes(ports.output(name + lanes_name)),
          address(ports.output(name + "_address")) {}
};

struct FetchPorts {
    Field valid, address, tag;                            // from the core
    Field ready, answer, answer_tag, answer_data, error;  // to the core; `answer` is its valid

    FetchPorts(const PortTable& ports, const std::string& core)
        : valid(ports.output(core + "_fetch_valid")),
          address(ports.output(core + "_fetch_address")),
          tag(ports.output(core + "_fetch_tag")),
          ready(ports.answer(core + "_fetch_ready")),
          answer(ports.answer(core + "_fetched_valid")),
          answer_tag(ports.answer(core + "_fetched_tag")),
          answer_data(ports.answer(core + "_fetched_data")),
          error(ports.answer(core + "_fetched_error")) {}
};

// `address`, `data` and `expected` have a word per lane, `strobes` 4 bits per lane.
struct DataPorts {
    Field valid, tag, is_store, mask, address, data, strobes;
    Field atomic, operation, owner, expected;  // only with atomics
    Field ready, answer, answer_tag, answer_mask, error, answer_data;

    DataPorts(const PortTable& ports, const std::string& core)
        : valid(ports.output(core + "_request_valid")),
          tag(ports.output(core + "_request_tag")),
          is_store(ports.output(core + "_request_is_store")),
          mask(ports.output(core + "_request_mask")),
          address(ports.output(core + "_request_address")),
          data(ports.output(core + "_request_data")),
          strobes(ports.output(core + "_request_strobes")),
          atomic(ports.output(core + "_request_atomic")),
          operation(ports.output(core + "_request_operation")),
          owner(ports.output(core + "_request_owner")),
          expected(ports.output(core + "_request_expected")),
          ready(ports.answer(core + "_request_ready")),
          answer(ports.answer(core + "_response_valid")),
          answer_tag(ports.answer(core + "_response_tag")),
          answer_mask(ports.answer(core + "_response_mask")),
          error(ports.answer(core + "_response_error")),
          answer_data(ports.answer(core + "_response_data")) {}

    uint32_t lanes() const { return mask.width; }
};

// Stream of words from a core of a cluster to the console or to matrix units.
struct SentPorts {
    Field valid, ready, word;

    SentPorts(const PortTable& ports, const std::string& name, const char* word_name)
        : valid(ports.output(name + "_valid")),
          ready(ports.output(name + "_ready")),
          word(ports.output(name + word_name)) {}

    bool moves(const uint32_t* outputs) const {
        return valid.get(outputs) && ready.get(outputs);
    }
};

struct CorePorts {
    FetchPorts fetch;
    DataPorts data;
    std::vector<CollectedPorts> collected;
    std::vector<PlacePorts> dispatched, offered;  // by number of the execution port
    std::vector<DonePorts> done;
    // By bus: `done` shows a result of an instruction of which others follow, and is not valid.
    std::vector<Field> partial;
    std::vector<Field> slots;
    Field reasons, active, at_barrier, exit_code, busy, runs;
    FaultPorts fault, memory_fault;
    SentPorts console, command;

    CorePorts(const PortTable& ports, const std::string& core)
        : fetch(ports, core),
          data(ports, core),
          collected(all<CollectedPorts>(ports, core + "_observed_collected_")),
          dispatched(all<PlacePorts>(ports, core + "_observed_dispatched_")),
          offered(all<PlacePorts>(ports, core + "_observed_offered_")),
          done(all<DonePorts>(ports, core + "_observed_done_")),
          reasons(ports.output(core + "_observed_reasons")),
          active(ports.output(core + "_observed_active")),
          at_barrier(ports.output(core + "_observed_at_barrier")),
          exit_code(ports.output(core + "_exit_code")),
          busy(ports.output(core + "_busy")),
          runs(ports.output(core + "_runs")),
          fault(ports, core + "_observed_fault", "_cause", "_lanes"),
          memory_fault(ports, core + "_observed_memory_fault", "_kind", "_mask"),
          console(ports, core + "_console", "_byte"),
          command(ports, core + "_command", "_word") {
        for (size_t number = 0; number < done.size(); number++) {
            partial.push_back(
                ports.output(core + "_observed_partial_" + std::to_string(number)));
        }
        for (size_t number = 0; number < collected.size(); number++) {
            slots.push_back(
                ports.output(core + "_observed_slots_" + std::to_string(number)));
        }
    }

    uint32_t warps() const { return active.width; }
    // A core that sleeps runs, although its clock domain is not busy.
    bool is_busy(const uint32_t* outputs) const {
        return busy.get(outputs) || runs.get(outputs);
    }
    uint32_t threads() const { return done.front().mask.width; }

    // Returns the `StallReason` of a warp.
    uint32_t reason(const uint32_t* outputs, uint32_t warp) const {
        return outputs[reasons.offset + warp / 8] >> 4 * (warp % 8) & 15;
    }

private:
    template <typename Group>
    static std::vector<Group> all(const PortTable& ports, const std::string& name) {
        std::vector<Group> groups;
        for (int number = 0; ports.output(name + std::to_string(number) + "_valid").exists();
             number++) {
            groups.emplace_back(ports, name + std::to_string(number));
        }
        return groups;
    }
};

}  // namespace spica
