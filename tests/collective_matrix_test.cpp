// Every collective under every map: the table of support/collective_matrix.hpp against its plain loops, with Tensor<double>.
//
//   SPMD_MATRIX=full            all cases (tests/run.sh --full); otherwise a twentieth, drawn with
//   SPMD_MATRIX_SEED=number
//   SPMD_SUPPORT_PAGE=folder    writes docs/support.md, and README's part, into the repository in that folder, and runs nothing
#include <filesystem>
#include <iostream>

#include "support/check.hpp"
#include "support/collective_run.hpp"
#include "support/collective_support.hpp"

using namespace spmd;
using check::D;
using matrix::Case, matrix::Control, matrix::Diff, matrix::Dims, matrix::run, matrix::shape_of, matrix::tensor;

namespace {

const auto setup = (set_host_device_count(8), 0);

// ---------------------------------------------------------------- a case, as the library runs it

AxisNames names_of(const Case& c) {
  std::vector<std::string> names;
  for (auto l : c.names) names.push_back(matrix::axis_name(l));
  return names;
}

D controlled(const Case& c, const Dims& value_shape, const D& x) {
  const auto axis = names_of(c);
  auto f = [&](const D& y) { return run(c.call, axis, y); };
  auto wrong = [&](const D& y) { return run(c.call, axis, y * 3.0); };
  switch (c.control) {
    case Control::none: return f(x);
    case Control::cond: {
      // Under vmap a predicate that is mapped would be an error, so there it is a constant.
      const bool constant = std::any_of(c.levels.begin(), c.levels.end(), [](auto& l) { return l.kind == 'v'; });
      const auto yes = constant ? Tensor<bool>(true) : sum(x * x) >= 0.0;
      return cond(!yes, wrong, [&](const D& y) { return cond(yes, f, wrong, y); }, x);
    }
    case Control::other: {
      auto other = [&] { return axis_index(matrix::axis_name(matrix::other_level(c))); };
      auto marked = [&](const D& y) { return y + 100.0 * cast<double>(other()); };
      return cond(other() == 0 || other() == 2, [&](const D& y) { return marked(f(y)); }, [&](const D& y) { return marked(f(-y)); }, x);
    }
    case Control::loop: {
      using Carry = std::pair<Tensor<std::int32_t>, D>;
      auto body = [&](const Carry& s) { return Carry(s.first + 1, s.second * 0.5 + f(x * cast<double>(s.first + 1))); };
      return while_loop([](const Carry& s) { return s.first < 2; }, body, Carry(0, zeros<double>(shape_of(value_shape)))).second;
    }
    case Control::scan:
      return scan([&](const D& carry, const D& y) {
        auto z = f(y);
        return std::pair(carry + sum(z), z);
      }, D(0.0), stack({x, x * 2.0}, 0)).second;
  }
  return x;
}

using Body = std::function<D(const D&, const D&)>;
/// body on every shard of all levels; x and the cotangent have a leading axis per level, x only where it varies.
D over(const Case& c, std::size_t level, const Body& body, const D& x, const D& cotangent) {
  if (level == c.levels.size()) return body(x, cotangent);
  auto& l = c.levels[level];
  auto inner = [&](const D& a, const D& b) { return over(c, level + 1, body, a, b); };
  const MapOptions options{.axis_name = matrix::axis_name(level), .in_axes = {l.varies ? each(0) : replicated, each(0)}, .out_axes = each(0), .axis_size = l.size};
  return l.kind == 'p' ? pmap(inner, options)(x, cotangent) : vmap(inner, options)(x, cotangent);
}
D run(const Case& c, const matrix::Expected& e) {
  const D x = tensor(e.x), cotangent = tensor(e.cotangent);
  const D direction = e.direction.elements.empty() && e.direction.shape.empty() ? D(0.0) : tensor(e.direction);
  const Body value = [&](const D& a, const D&) { return controlled(c, e.value_shape, a); };
  switch (c.diff) {
    case Diff::value: return over(c, 0, value, x, cotangent);
    case Diff::inside: return over(c, 0, [&](const D& a, const D& ct) { return grad([&](const D& b) { return sum(value(b, ct) * ct); })(a); }, x, cotangent);
    case Diff::inside_twice:
      return over(c, 0, [&](const D& a, const D& ct) {
        std::vector<std::string> all;
        for (std::size_t l = 0; l < c.levels.size(); ++l) all.push_back(matrix::axis_name(l));
        const auto along = direction * (1.0 + cast<double>(axis_index(all)));
        auto first = grad([&](const D& b) { return sum(square(value(b, ct)) * ct); });
        return grad([&](const D& b) { return sum(first(b) * along); })(a);
      }, x, cotangent);
    case Diff::outside: return grad([&](const D& a) { return sum(over(c, 0, value, a, cotangent) * cotangent); })(x);
    case Diff::outside_twice: {
      auto first = grad([&](const D& a) { return sum(square(over(c, 0, value, a, cotangent)) * cotangent); });
      return grad([&](const D& a) { return sum(first(a) * direction); })(x);
    }
  }
  return x;
}

// ---------------------------------------------------------------- pages

const char* const write_to = std::getenv("SPMD_SUPPORT_PAGE");

TEST(SupportPage, IsWhatTheTableSays) {
  const std::string root = write_to ? write_to : std::filesystem::absolute(__FILE__).parent_path().parent_path().string();
  const matrix::Support support;
  const auto readme = matrix::file(root + "/README.md");
  if (write_to) {
    std::ofstream(root + "/docs/support.md") << support.page();
    if (const auto text = matrix::readme_with(readme, support.summary()); !text.empty()) std::ofstream(root + "/README.md") << text;
  }
  EXPECT_EQ(matrix::file(root + "/docs/support.md"), support.page()) << "write it anew: SPMD_SUPPORT_PAGE=" << root;
  EXPECT_EQ(matrix::file(root + "/README.md"), matrix::readme_with(readme, support.summary()));
}

// ---------------------------------------------------------------- the matrix

class CollectiveMatrix : public ::testing::TestWithParam<std::string> {};
TEST_P(CollectiveMatrix, EqualsPlainLoops) {
  if (write_to) GTEST_SKIP();
  matrix::Draw drawn;
  int failed = 0;
  matrix::each_case(GetParam(), [&](const Case& c) {
    if (!drawn() || failed >= 20) return;
    try {
      const auto e = matrix::expect(c);
      const auto result = run(c, e);
      const bool twice = c.diff == Diff::inside_twice || c.diff == Diff::outside_twice;
      const auto close = check::close(result, tensor(e.result), twice ? 1e-7 : 1e-11);
      if (!close) ++failed;
      EXPECT_TRUE(close) << matrix::text(c);
    } catch (const std::exception& error) {
      ++failed;
      ADD_FAILURE() << matrix::text(c) << "\n  threw " << error.what();
    }
  });
  std::cout << drawn.ran << " of " << drawn.cases << " cases\n";
}
INSTANTIATE_TEST_SUITE_P(Maps, CollectiveMatrix, ::testing::ValuesIn(matrix::all_kinds()), [](const auto& maps) {
  std::string name;
  for (char kind : maps.param) name += std::string(name.empty() ? "" : "_of_") + (kind == 'p' ? "pmap" : "vmap");
  return name;
});

}  // namespace
