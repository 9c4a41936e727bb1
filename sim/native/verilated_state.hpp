// State of a Verilated model as bytes in memory: Verilator's save streams without files.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "../iss/native/archive.hpp"
#include "verilated_save.h"

namespace spica {

class StateWriter : public VerilatedSerialize {
public:
    explicit StateWriter(std::vector<uint8_t>& bytes) : bytes_(bytes) { m_isOpen = true; }

    void flush() override {
        bytes_.insert(bytes_.end(), m_bufp, m_cp);
        m_cp = m_bufp;
    }

private:
    std::vector<uint8_t>& bytes_;
};

// Reads zeros after the end.
class StateReader : public VerilatedDeserialize {
public:
    explicit StateReader(const std::vector<uint8_t>& bytes) : bytes_(bytes) {
        m_isOpen = true;
        m_endp = m_bufp;
    }

    void fill() override {
        size_t rest = static_cast<size_t>(m_endp - m_cp);
        std::memmove(m_bufp, m_cp, rest);
        size_t count = std::min(bufferSize() - rest, bytes_.size() - next_);
        if (count) std::memcpy(m_bufp + rest, bytes_.data() + next_, count);
        std::memset(m_bufp + rest + count, 0, bufferSize() - rest - count);
        next_ += count;
        m_cp = m_bufp;
        m_endp = m_bufp + bufferSize();
    }

private:
    const std::vector<uint8_t>& bytes_;
    size_t next_ = 0;
};

template <typename Top>
void archive_verilated(Archive& archive, Top& top) {
    std::vector<uint8_t> bytes;
    if (!archive.reads()) {
        StateWriter writer(bytes);
        writer << top;
        writer.flush();
    }
    archive(bytes);
    if (archive.reads() && !bytes.empty()) {
        StateReader reader(bytes);
        reader >> top;
    }
}

}  // namespace spica
