// This header defines where the loops of the solver run: on a CUDA device. space_cores.h has the
// same for cores.
#pragma once

#include <petscdevice_cuda.h>

#include <cub/device/device_reduce.cuh>

#include <algorithm>
#include <vector>

#include "space.h"

namespace flow {

template <class Body> __global__ void run_each(std::size_t count, Body body)
{
  const std::size_t k = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (k < count) body(k);
}

// Numbers on the device.
template <class T> class DeviceArray {
public:
  DeviceArray() = default;
  DeviceArray(const DeviceArray &) = delete;
  DeviceArray &operator=(const DeviceArray &) = delete;
  ~DeviceArray() { (void)cudaFree(data_); }

  PetscErrorCode resize(std::size_t count)
  {
    PetscFunctionBeginUser;
    PetscCallCUDA(cudaFree(data_));
    data_ = nullptr;
    PetscCallCUDA(cudaMalloc(&data_, std::max<std::size_t>(count, 1) * sizeof(T)));
    PetscCallCUDA(cudaMemset(data_, 0, count * sizeof(T)));
    PetscCallCUDA(cudaDeviceSynchronize()); // PETSc's stream need not wait for this one
    size_ = count;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  T *data() { return data_; }
  const T *data() const { return data_; }
  std::size_t size() const { return size_; }

private:
  T *data_ = nullptr;
  std::size_t size_ = 0;
};

// The device of a rank.
class Device {
public:
  template <class T> using Array = DeviceArray<T>;
  template <int bs> static constexpr int columns = 1;

  template <class Body> PetscErrorCode each(std::size_t count, const Body &body) const
  {
    constexpr unsigned kThreads = 128;
    cudaStream_t stream = nullptr;

    PetscFunctionBeginUser;
    if (count == 0) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(stream_of_petsc(&stream));
    run_each<<<static_cast<unsigned>((count + kThreads - 1) / kThreads), kThreads, 0, stream>>>(
        count, body);
    PetscCallCUDA(cudaGetLastError());
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  template <class T> PetscErrorCode upload(const std::vector<T> &from, DeviceArray<T> *to) const
  {
    PetscFunctionBeginUser;
    PetscCall(to->resize(from.size()));
    PetscCallCUDA(
        cudaMemcpy(to->data(), from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice));
    PetscCallCUDA(cudaDeviceSynchronize());
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  template <class T>
  PetscErrorCode on_host(const DeviceArray<T> &values, std::vector<T> *copy,
                         const T **on_host) const
  {
    PetscFunctionBeginUser;
    PetscCall(wait());
    copy->resize(values.size());
    PetscCallCUDA(
        cudaMemcpy(copy->data(), values.data(), values.size() * sizeof(T), cudaMemcpyDeviceToHost));
    *on_host = copy->data();
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  template <class T> PetscErrorCode resize(std::size_t count, DeviceArray<T> *array) const
  {
    PetscFunctionBeginUser;
    PetscCall(array->resize(count));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscErrorCode sum(const DeviceArray<double> &numbers, double *sum)
  {
    PetscFunctionBeginUser;
    PetscCall(reduce(
        numbers, [](auto &&...all) { return cub::DeviceReduce::Sum(all...); }, sum));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscErrorCode least(const DeviceArray<double> &numbers, double *least)
  {
    PetscFunctionBeginUser;
    *least = 1.0;
    if (numbers.size() > 0)
      PetscCall(reduce(
          numbers, [](auto &&...all) { return cub::DeviceReduce::Min(all...); }, least));
    *least = std::min(*least, 1.0);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscErrorCode wait() const
  {
    cudaStream_t stream = nullptr;

    PetscFunctionBeginUser;
    PetscCall(stream_of_petsc(&stream));
    PetscCallCUDA(cudaStreamSynchronize(stream));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

private:
  static PetscErrorCode stream_of_petsc(cudaStream_t *stream)
  {
    PetscDeviceContext context;
    void *handle;

    PetscFunctionBeginUser;
    PetscCall(PetscDeviceContextGetCurrentContext(&context));
    PetscCall(PetscDeviceContextGetStreamHandle(context, &handle));
    *stream = *static_cast<cudaStream_t *>(handle);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  // A reduction by CUB, which gives the same bits in every run on the same device.
  template <class Reduce>
  PetscErrorCode reduce(const DeviceArray<double> &numbers, const Reduce &by, double *result)
  {
    const auto count = static_cast<int>(numbers.size());
    std::size_t bytes = 0;
    cudaStream_t stream = nullptr;

    PetscFunctionBeginUser;
    PetscCall(stream_of_petsc(&stream));
    if (result_.size() == 0) PetscCall(result_.resize(1));
    PetscCallCUDA(by(nullptr, bytes, numbers.data(), result_.data(), count, stream));
    if (scratch_.size() < bytes) PetscCall(scratch_.resize(bytes));
    PetscCallCUDA(by(static_cast<void *>(scratch_.data()), bytes, numbers.data(), result_.data(),
                     count, stream));
    PetscCallCUDA(
        cudaMemcpyAsync(result, result_.data(), sizeof(double), cudaMemcpyDeviceToHost, stream));
    PetscCallCUDA(cudaStreamSynchronize(stream));
    PetscFunctionReturn(PETSC_SUCCESS);
  }

  DeviceArray<char> scratch_;
  DeviceArray<double> result_;
};

} // namespace flow
