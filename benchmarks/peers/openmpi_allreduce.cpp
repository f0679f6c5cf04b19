// MPI_Allreduce and MPI_Allgather among the processes of one machine: the peers of psum and all_gather. Prints `name seconds`, one line
// each.
//
//   mpicxx -std=c++20 -O3 openmpi_allreduce.cpp -o openmpi_allreduce && mpirun -n 2 ./openmpi_allreduce
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <vector>

/// Rank 0 reports the smallest mean time of a few calls in a row; all ranks start together.
template <class F> void measure(const char* name, std::size_t kib, F call) {
  const int calls = kib <= 64 ? 200 : kib <= 1024 ? 20 : 1;
  double best = 1e9;
  for (int round = 0; round < 15; ++round) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (int i = 0; i < calls; ++i) call();
    best = std::min(best, (MPI_Wtime() - begin) / calls);
  }
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) std::printf("%s_%zuKiB %.6e\n", name, kib, best);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (std::size_t kib : {4, 64, 1024, 16384, 65536}) {
    const std::size_t n = kib * 256;
    const int count = static_cast<int>(n);
    const std::vector<float> mine(n, 1.0f);
    std::vector<float> result(n * static_cast<std::size_t>(ranks));
    measure("psum", kib, [&] { MPI_Allreduce(mine.data(), result.data(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); });
    measure("all_gather", kib, [&] { MPI_Allgather(mine.data(), count, MPI_FLOAT, result.data(), count, MPI_FLOAT, MPI_COMM_WORLD); });
  }
  MPI_Finalize();
}
