// Packed ports of a top module: each port begins at a 32-bit word of one of two arrays.
#pragma once
#include <cstdint>
#include <sstream>
#include <string>
#include <unordered_map>

namespace spica {

// Position of a port. A port that the design does not have reads as 0 and ignores writes.
struct Field {
    int offset = -1;
    uint32_t width = 0;

    uint32_t get(const uint32_t* words) const { return offset < 0 ? 0 : words[offset]; }
    void set(uint32_t* words, uint32_t value) const {
        if (offset >= 0) words[offset] = value;
    }
    bool exists() const { return offset >= 0; }
};

const std::string kCluster = "cluster";

// Name on a machine of a part of a cluster, such as a port: those of cluster 0 have no prefix.
inline std::string in_cluster(uint32_t cluster, const std::string& name) {
    return cluster == 0 ? name : kCluster + std::to_string(cluster) + "_" + name;
}
// Name of such a part without the prefix of its cluster.
inline std::string without_cluster(const std::string& name) {
    bool has_prefix = name.starts_with(kCluster) && name.size() > kCluster.size() &&
                      name[kCluster.size()] >= '0' && name[kCluster.size()] <= '9';
    return has_prefix ? name.substr(name.find('_') + 1) : name;
}

class PortTable {
public:
    // One line per port: "i" or "o" (seen from the design), name, width, first word.
    explicit PortTable(const char* text) {
        std::istringstream lines(text);
        std::string direction, name;
        Field field;
        while (lines >> direction >> name >> field.width >> field.offset) {
            (direction == "i" ? inputs_ : outputs_)[name] = field;
        }
    }
    Field input(const std::string& name) const { return find(inputs_, name); }
    Field output(const std::string& name) const { return find(outputs_, name); }
    // Port of a response to the design: an input, or an observation output if the responder is
    // inside the design.
    Field answer(const std::string& name) const {
        return inputs_.count(name) ? find(inputs_, name) : find(outputs_, name);
    }
    const std::unordered_map<std::string, Field>& outputs() const { return outputs_; }

private:
    using Map = std::unordered_map<std::string, Field>;
    static Field find(const Map& map, const std::string& name) {
        auto entry = map.find(name);
        return entry == map.end() ? Field{} : entry->second;
    }
    Map inputs_, outputs_;
};

}  // namespace spica
