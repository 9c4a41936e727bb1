#include "composition.hpp"

#include <dlfcn.h>

#include <cstring>
#include <sstream>
#include <stdexcept>

namespace spica {

Composition::Composition(const char* plan, uint64_t seed) { read(plan, seed); }

Composition::~Composition() {
    for (auto& block : blocks_) block->functions->destroy(block->model);
    for (void* library : libraries_) dlclose(library);
}

void Composition::read(const char* plan, uint64_t seed) {
    std::istringstream lines(plan);
    uint32_t word = 0, output_width = 0;
    for (std::string line; std::getline(lines, line);) {
        std::istringstream fields(line);
        std::string item;
        fields >> item;
        if (item == "words") {
            uint32_t outputs;
            fields >> input_words_ >> outputs;
            inputs_.assign(input_words_ + 1, 0);
            input_widths_.assign(input_words_ + 1, 1);
            outputs_.assign(outputs, 0);
        } else if (item == "input") {
            fields >> word;
            fields >> input_widths_[word];
        } else if (item == "library") {
            void* library = dlopen(line.substr(item.size() + 1).c_str(), RTLD_NOW | RTLD_LOCAL);
            if (!library) throw std::runtime_error(dlerror());
            libraries_.push_back(library);
        } else if (item == "block") {
            uint32_t library, port, domain, count;
            auto block = std::make_unique<Block>();
            fields >> library >> block->name;
            using Find = const BlockFunctions* (*)();
            block->functions =
                reinterpret_cast<Find>(dlsym(libraries_[library], "block_functions"))();
            block->model = block->functions->create(seed + 2 * blocks_.size());
            const BlockPort* ports = block->functions->ports(block->model, &count);
            for (uint32_t k = 0; k < count; k++) {
                uint32_t width = ports[k].width;
                auto* data = static_cast<uint8_t*>(ports[k].data);
                block->ports.push_back({data, port_bytes(width), width});
            }
            block->drive = block->ports.back().data;
            while (fields >> port >> domain) {
                block->clocks.push_back({block->ports[port].data, domain});
            }
            blocks_.push_back(std::move(block));
        } else if (item == "step") {
            uint32_t block;
            fields >> block;
            steps_.push_back({blocks_[block].get(), {}});
        } else if (item == "copy") {
            int from;
            uint32_t port, bit, to, target, target_bit, width;
            fields >> from >> port >> bit >> to >> target >> target_bit >> width;
            Storage input = blocks_[to]->ports[target];
            copies(steps_.back().groups, from)
                .add(source(from, port), bit, input, target_bit, width);
        } else if (item == "output") {
            fields >> word >> output_width;
        } else if (item == "piece") {
            int from;
            uint32_t port, bit, target_bit, width;
            fields >> from >> port >> bit >> target_bit >> width;
            auto* data = reinterpret_cast<uint8_t*>(&outputs_[word]);
            Storage output{data, word_bytes(output_width), output_width};
            copies(sampled_, from).add(source(from, port), bit, output, target_bit, width);
        } else if (item == "busy") {
            busy_.emplace_back();
            fields >> busy_.back();
        }
    }
}

Storage Composition::source(int block, uint32_t port) {
    if (block >= 0) return blocks_[block]->ports[port];
    uint32_t width = input_widths_[port];
    return {reinterpret_cast<uint8_t*>(&inputs_[port]), word_bytes(width), width};
}

const uint64_t* Composition::version(int block) const {
    return block < 0 ? &input_version_ : &blocks_[block]->version;
}

Copies& Composition::copies(std::vector<Group>& groups, int from) {
    for (Group& group : groups) {
        if (group.version == version(from)) return group.copies;
    }
    return groups.emplace_back(Group{version(from), 0, {}}).copies;
}

bool Composition::update(std::vector<Group>& groups) {
    bool changed = false;
    for (Group& group : groups) {
        if (group.seen == *group.version) continue;
        group.seen = *group.version;
        changed |= group.copies.apply();
    }
    return changed;
}

void Composition::reset(bool level) {
    inputs_[input_words_] = level;
    input_version_++;
}

void Composition::lower(Block& block) {
    for (auto& [clock, domain] : block.clocks) *clock = 0;
    block.high = false;
}

void Composition::settle(const uint32_t* inputs, uint32_t* outputs) {
    if (std::memcmp(inputs_.data(), inputs, 4 * input_words_)) {
        std::memcpy(inputs_.data(), inputs, 4 * input_words_);
        input_version_++;
    }
    for (Step& step : steps_) {
        Block& block = *step.block;
        // In the first cycle even inputs that keep their initial value are taken over.
        if (!update(step.groups) && block.version > 1) continue;
        lower(block);
        *block.drive ^= 1;
        block.functions->evaluate(block.model);
        block.version++;
    }
    update(sampled_);
    std::memcpy(outputs, outputs_.data(), 4 * outputs_.size());
}

Domains Composition::busy() const {
    Domains domains;
    for (size_t k = 0; k < busy_.size(); k++) domains[k] = busy_[k] < 0 || outputs_[busy_[k]];
    return domains;
}

void Composition::clock(const Domains& domains) {
    for (auto& block : blocks_) {
        bool runs = false;
        for (auto& [clock, domain] : block->clocks) runs |= domains[domain];
        if (!runs) continue;
        if (block->high) {
            lower(*block);
            block->functions->evaluate(block->model);
        }
        for (auto& [clock, domain] : block->clocks) *clock = domains[domain];
        block->high = true;
        block->functions->evaluate(block->model);
        block->version++;
    }
}

bool Composition::trace(const std::string& folder) {
    bool all = true;
    for (auto& block : blocks_) {
        std::string path = folder + "/" + block->name + ".vcd";
        all &= block->functions->trace(block->model, path.c_str()) != 0;
    }
    return all;
}

void Composition::dump(uint64_t time, bool clocked) {
    for (auto& block : blocks_) {
        if (!clocked && block->high) {
            // A block that nothing evaluated since its clock edge: the next edge must be a change.
            lower(*block);
            block->functions->evaluate(block->model);
        }
        block->functions->dump(block->model, time);
    }
}

void Composition::archive(Archive& archive) {
    archive(inputs_, outputs_);
    for (auto& block : blocks_) {
        std::vector<uint8_t> bytes;
        if (!archive.reads()) {
            const uint8_t* state;
            uint64_t size = block->functions->save(block->model, &state);
            bytes.assign(state, state + size);
        }
        archive(block->high, bytes);
        bool restored = true;
        if (archive.reads()) {
            restored = block->functions->restore(block->model, bytes.data(), bytes.size());
            block->version++;
        }
        archive.same(restored);
    }
    if (archive.reads()) input_version_++;
}

}  // namespace spica
