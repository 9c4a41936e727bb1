// Serialisation of state: one list of members for both writing and reading.
//
// A class has `void archive(Archive&)`, which lists all members that change during a run, and none
// that construction determines: the reader has constructed an equal object before.
#pragma once
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace spica {

// Bytes for Python, which stay valid until the next call.
extern "C" struct Bytes {
    const void* data;
    uint64_t size;
};

class Archive {
public:
    // Appends to `bytes`.
    explicit Archive(std::vector<uint8_t>& bytes) : written_(&bytes) {}
    // Reads these bytes, which must stay valid.
    Archive(const uint8_t* bytes, uint64_t size) : next_(bytes), left_(size) {}

    bool reads() const { return written_ == nullptr; }
    // Whether the bytes contained exactly the members that were read.
    bool is_whole() const { return !is_wrong_ && left_ == 0; }

    template <typename... Members>
    void operator()(Members&... members) {
        (one(members), ...);
    }
    void raw(void* bytes, uint64_t size) {
        auto* data = static_cast<uint8_t*>(bytes);
        if (!reads()) {
            written_->insert(written_->end(), data, data + size);
        } else if (has(size)) {
            std::memcpy(data, next_, size);
            next_ += size;
            left_ -= size;
        }
    }
    // A value that must be equal in the reader.
    void same(uint64_t value) {
        uint64_t archived = value;
        one(archived);
        is_wrong_ |= archived != value;
    }
    // Non-null pointers of a vector: `make` creates an object, `action` archives it.
    template <typename Pointer, typename Make, typename Action>
    void sparse(std::vector<Pointer>& pointers, Make make, Action action) {
        std::vector<uint32_t> places;
        for (uint32_t place = 0; !reads() && place < pointers.size(); place++) {
            if (pointers[place]) places.push_back(place);
        }
        one(places);
        if (reads()) {
            for (Pointer& pointer : pointers) pointer.reset();
        }
        for (uint32_t place : places) {
            is_wrong_ |= place >= pointers.size();
            if (is_wrong_) return;
            if (reads()) pointers[place] = make();
            action(pointers[place].get());
        }
    }

private:
    bool has(uint64_t size) {
        is_wrong_ |= size > left_;
        return !is_wrong_;
    }

    template <typename Type>
    void one(Type& member) {
        if constexpr (requires { member.archive(*this); }) {
            member.archive(*this);
        } else {
            static_assert(std::is_trivially_copyable_v<Type> && !std::is_pointer_v<Type>);
            raw(&member, sizeof member);
        }
    }
    template <typename Type>
    void one(std::vector<Type>& members) {
        static_assert(!std::is_pointer_v<Type>);
        resize(members);
        constexpr bool has_own = requires(Type& member) { member.archive(*this); };
        if constexpr (has_own || !std::is_trivially_copyable_v<Type>) {
            for (Type& member : members) one(member);
        } else {
            raw(members.data(), members.size() * sizeof(Type));
        }
    }
    template <typename Type>
    void one(std::deque<Type>& members) {
        resize(members);
        for (Type& member : members) one(member);
    }
    void one(std::string& text) {
        resize(text);
        raw(text.data(), text.size());
    }
    template <typename Container>
    void resize(Container& container) {
        uint64_t size = container.size();
        one(size);
        // Every element takes at least one byte, so a larger size is invalid.
        if (reads()) container.resize(has(size) ? size : 0);
    }

    std::vector<uint8_t>* written_ = nullptr;
    const uint8_t* next_ = nullptr;
    uint64_t left_ = 0;
    bool is_wrong_ = false;
};

}  // namespace spica
