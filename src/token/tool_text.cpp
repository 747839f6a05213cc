#include "token/tool_text.h"

namespace palimpsest {
namespace {

// A comment: lines lose their indentation.
std::string comment(std::string_view text) {
    std::string out = "// ";
    bool at_start = true;
    for (const char c : text) {
        if (at_start && (c == ' ' || c == '\t')) continue;
        at_start = c == '\n';
        out += c;
    }
    return out + '\n';
}

class Declaration {
public:
    explicit Declaration(JsonValue root) : root_(root) {}

    std::string fields(JsonValue schema, int depth = 0) const {
        std::string out;
        const auto properties = schema.find("properties");
        if (!properties) return out;
        for (const auto [name, field] : properties->members()) {
            if (!out.empty()) out += '\n';
            const auto note = field.find("description");
            if (note && !note->string().empty()) out += comment(note->string());
            out += std::string(name) + (is_required(schema, name) ? ": " : "?: ") +
                   type(field, depth) + ',';
            if (const auto value = field.find("default"))
                out += " // default: " +
                       std::string(value->is_string() ? value->string() : value->raw());
        }
        return out;
    }

private:
    static bool is_required(JsonValue schema, std::string_view name) {
        const auto required = schema.find("required");
        if (!required) return false;
        for (const JsonValue one : required->elements())
            if (one.string() == name) return true;
        return false;
    }

    template <class Spell>
    static std::string one_of(JsonValue list, Spell spell) {
        std::string out;
        for (const JsonValue one : list.elements()) out += (out.empty() ? "" : " | ") + spell(one);
        return out;
    }

    JsonValue resolved(JsonValue schema) const {
        const auto reference = schema.find("$ref");
        const std::string_view path = reference ? reference->string() : "";
        for (const std::string_view where : {"$defs", "definitions"}) {
            const auto group = root_.find(where);
            const auto found = group ? group->find(path.substr(path.rfind('/') + 1)) : group;
            if (reference && found) return *found;
        }
        return schema;
    }

    // A schema that refers to itself ends here.
    std::string type(JsonValue unresolved, int depth) const {
        if (depth > 16) return "any";
        const JsonValue schema = resolved(unresolved);
        const auto inner = [&](JsonValue one) { return type(one, depth + 1); };
        const auto literal = [](JsonValue one) { return std::string(one.raw()); };
        if (const auto any = schema.find("anyOf")) return one_of(*any, inner);
        if (const auto any = schema.find("oneOf")) return one_of(*any, inner);
        if (const auto values = schema.find("enum")) return one_of(*values, literal);
        if (const auto value = schema.find("const")) return literal(*value);
        const auto kind = schema.find("type");
        if (!kind) return "any";
        const auto named = [&](JsonValue one) { return simple_type(one.string(), schema, depth); };
        return kind->is_array() ? one_of(*kind, named) : named(*kind);
    }

    std::string simple_type(std::string_view kind, JsonValue schema, int depth) const {
        if (kind == "integer") return "number";
        if (kind == "array") {
            const auto items = schema.find("items");
            return (items ? type(*items, depth + 1) : "any") + "[]";
        }
        if (kind != "object") return kind.empty() ? "any" : std::string(kind);
        const auto properties = schema.find("properties");
        if (!properties || properties->size() == 0 || depth > 8) return "object";
        return "{\n" + fields(schema, depth + 1) + "\n}";
    }

    JsonValue root_;
};

}  // namespace

ToolText tool_text(JsonValue tools) {
    ToolText out{"namespace functions {\n\n"};
    for (const JsonValue tool : tools.elements()) {
        const auto kind = tool.find("type");
        if (kind && kind->string() != "function") continue;
        const JsonValue function = tool.find("function").value_or(tool);
        const auto name = function.find("name");
        const auto note = function.find("description");
        if (note && !note->string().empty()) out.text += comment(note->string());
        out.text += "type " + std::string(name ? name->string() : "") + " = (";
        const auto parameters = function.find("parameters");
        const auto properties = parameters ? parameters->find("properties") : parameters;
        if (properties && properties->size() != 0) {
            ++out.typed_tools;
            out.text += "_: {\n" + Declaration(*parameters).fields(*parameters) + "\n}";
        }
        out.text += ") => any;\n\n";
    }
    out.text += "} // namespace functions";
    return out;
}

std::string compact_json(std::string_view json) {
    std::string out;
    bool in_string = false, escaped = false;
    for (const char c : json) {
        if (in_string || (c != ' ' && c != '\n' && c != '\r' && c != '\t')) out += c;
        if (c == '"' && !escaped) in_string = !in_string;
        escaped = in_string && c == '\\' && !escaped;
    }
    return out;
}

}  // namespace palimpsest
