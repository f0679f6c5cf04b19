// Trains a network on 1,437 images of handwritten digits, each batch split over all devices, and tests it on 360 others.
//
// The network lies on every device ("replicated"), the batch is split. Every device differentiates the loss of its own part of the batch;
// pmean averages the gradients; so all take the same step and nothing has to be sent back. support/digits_model.hpp has the
// network, its loss, Adam and the step: about forty lines that never say how many devices there are.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include <spmd/spmd.hpp>

#include "support/digits.hpp"
#include "support/digits_model.hpp"
#include "support/options.hpp"
#include "support/plot.hpp"
#include "support/progress.hpp"

using spmd::Device, spmd::Index, spmd::Key;
using spmd::pmap, spmd::replicated, spmd::split, spmd::vmap;

constexpr Index training_images = 1437, compared_steps = 20;

/// Printf's format, as a string.
template <class... Values> std::string line(const char* format, Values... values) {
  char text[200];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

std::vector<Device> first_devices(Index n) {
  if (spmd::devices().front().platform == spmd::Platform::host) spmd::set_host_device_count(n);  // CPU threads: as many as asked
  auto devices = spmd::devices();
  if (n > static_cast<Index>(devices.size()))
    throw std::runtime_error("--devices " + std::to_string(n) + ", but there are only " + std::to_string(devices.size()));
  devices.resize(static_cast<std::size_t>(n));
  return devices;
}

void print_devices(const std::vector<Device>& devices, Index batch) {
  const Index part = batch / static_cast<Index>(devices.size());
  std::cout << "images of a batch   device\n";
  for (Index i = 0; const Device& device : devices) {
    std::cout << line("%6d to %6d    ", int(i * part), int((i + 1) * part - 1)) << device << "\n";
    ++i;
  }
}

/// The training images in an order that depends on the epoch alone, cut into batches; a last short one is dropped.
class Batches {
 public:
  Batches(Digits images, Key key, Index size) : images_(std::move(images)), key_(std::move(key)), size_(size) {}

  Index per_epoch() const { return images_.size() / size_; }

  /// Batch number `step`, counted over all epochs.
  Digits operator()(Index step) {
    const Index epoch = step / per_epoch(), begin = step % per_epoch() * size_;
    if (epoch != epoch_) {
      epoch_ = epoch;
      shuffled_ = pick(images_, spmd::random::permutation(spmd::random::fold_in(key_, epoch), images_.size()));
    }
    return rows(shuffled_, begin, begin + size_);
  }

 private:
  Digits images_, shuffled_;
  Key key_;
  Index size_, epoch_ = -1;
};

/// The largest difference of any weight or bias.
float largest_difference(const Network& a, const Network& b) {
  float largest = 0;
  for (const auto& gap : spmd::tree_leaves<float>(spmd::tree_map([](const auto& x, const auto& y) { return max(abs(x - y)); }, a, b)))
    largest = std::max(largest, gap.item());
  return largest;
}

int run(int argc, char** argv) {
  Options options(argc, argv);
  const Index n = options.integer("devices", spmd::device_count(), 1, "how many devices share each batch");
  const Index epochs = options.integer("epochs", 30, 1, "how often every image is shown");
  const Index asked_batch = options.integer("batch", 128, 1, "images per step");
  const auto seed = options.integer("seed", 0, 0, "of the split, the first weights and the order of the images");
  options.done();

  const Index batch = (asked_batch + n - 1) / n * n;
  if (batch > training_images)
    throw std::runtime_error("a batch of " + std::to_string(batch) + " needs more than the " + std::to_string(training_images) +
                             " training images");
  const auto devices = first_devices(n);
  print_devices(devices, batch);
  if (batch != asked_batch) std::cout << "batch " << asked_batch << " rounded up to " << batch << ", a multiple of " << n << " devices\n";

  // The data, shuffled by the seed: 1,437 images to learn from, 360 held out.
  const Key keys = spmd::random::split(Key(seed), 3);
  const Digits all = load_digits(SPMD_EXAMPLE_DATA_DIR "/digits.csv");
  const Digits shuffled = pick(all, spmd::random::permutation(keys[0], all.size()));
  const Digits held_out = rows(shuffled, training_images, all.size());
  Batches batches(rows(shuffled, 0, training_images), keys[2], batch);
  std::cout << training_images << " images to learn from, " << held_out.size() << " held out; " << batches.per_epoch()
            << " steps per epoch, images left over and dropped: " << training_images % batch << "\n\n";

  // One source for every device. The state goes in replicated and comes out replicated: passing it back moves nothing.
  const auto step = pmap(train_step, {.axis_name = "batch", .in_axes = {replicated, split(0)}, .out_axes = replicated, .devices = devices});
  const auto count =
      pmap(count_correct, {.axis_name = "batch", .in_axes = {replicated, split(0), split(0)}, .out_axes = replicated, .devices = devices});

  // 360 images do not divide by every number of devices: pad them, and count only the real ones.
  const auto padded = spmd::pad_to_multiple(held_out, n);
  const auto accuracy = [&](const Network& network) {
    return 100.0 * count(network, padded.first, padded.second).item() / static_cast<double>(held_out.size());
  };

  using Clock = std::chrono::steady_clock;
  const Training start = start_training(keys[1]);
  const Index steps = epochs * batches.per_epoch();
  Training state = start;
  Network early;  // after the steps that are repeated below
  std::vector<double> losses, accuracies;
  Progress progress(steps);
  for (Index epoch = 0, done = 0; epoch < epochs; ++epoch) {
    double total = 0;
    const auto begin = Clock::now();
    for (Index i = 0; i < batches.per_epoch(); ++i) {
      auto [next, mean_loss] = step(state, batches(done));
      state = std::move(next);
      const double loss = mean_loss.item();
      total += loss;
      if (++done <= compared_steps) early = state.network;
      progress.advance(line("epoch %d of %d, loss %.4f", int(epoch + 1), int(epochs), loss));
    }
    const std::chrono::duration<double> seconds = Clock::now() - begin;
    losses.push_back(total / static_cast<double>(batches.per_epoch()));
    accuracies.push_back(accuracy(state.network));
    progress.line(line("epoch %3d   loss %.4f   held-out accuracy %6.2f %%   %8.0f samples/s", int(epoch + 1), losses.back(),
                       accuracies.back(), double(batches.per_epoch() * batch) / seconds.count()));
  }

  // The same steps on one device: vmap runs the n parts of each batch side by side.
  const auto twin = vmap(train_step, {.axis_name = "batch", .in_axes = {replicated, split(0)}, .out_axes = replicated, .axis_size = n});
  const Index repeated = std::min(steps, compared_steps);
  Training alone = start;
  for (Index i = 0; i < repeated; ++i) alone = twin(alone, batches(i)).first;
  const float difference = largest_difference(early, alone.network);
  std::cout << "\nthe first " << repeated << " steps again as vmap on one device: largest difference of the parameters " << difference
            << "\n";

  write_svg("train_digits.svg",
            {{"loss", "epoch", {{"training", "#c33", losses}}}, {"accuracy in %", "epoch", {{"held out", "#36c", accuracies}}}});
  std::cout << "wrote train_digits.svg\n" << line("held-out accuracy: %.2f %%\n", accuracies.back());
  return difference < 1e-5f ? 0 : 1;
}

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
