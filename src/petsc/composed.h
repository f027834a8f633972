// C++ objects that PETSc objects own.
#pragma once

#include <petscsys.h>

#include <memory>

namespace mcpi {

// Destroys what a container holds. Before 3.23 PETSc gave the pointer itself, since then its
// address, as void ** or as void *.
#if PETSC_VERSION_LT(3, 23, 0)
template <class T> struct ContainerDestroyer {
  static PetscErrorCode destroy(void *pointer)
  {
    PetscFunctionBegin;
    delete static_cast<T *>(pointer);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  static PetscErrorCode set(PetscContainer container)
  {
    return PetscContainerSetUserDestroy(container, destroy);
  }
};
#else
template <class T> struct ContainerDestroyer {
  template <class Address> static PetscErrorCode destroy(Address address)
  {
    PetscFunctionBegin;
    delete *reinterpret_cast<T **>(address);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  static PetscErrorCode set(PetscContainer container)
  {
    return PetscContainerSetCtxDestroy(container, destroy);
  }
};
#endif

// Collective. Gives the object what `owned` points to. It is destroyed with the object, or when
// something else is composed by this name.
template <class T>
PetscErrorCode ComposeOwned(PetscObject object, const char *name, std::unique_ptr<T> *owned)
{
  PetscContainer container;

  PetscFunctionBegin;
  PetscCall(PetscContainerCreate(PETSC_COMM_SELF, &container));
  PetscCall(ContainerDestroyer<T>::set(container));
  PetscCall(PetscContainerSetPointer(container, owned->get()));
  (void)owned->release();
  PetscCall(PetscObjectCompose(object, name, (PetscObject)container));
  PetscCall(PetscContainerDestroy(&container));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// Not collective. Sets owned to what ComposeOwned() has given the object, or to null.
template <class T> PetscErrorCode QueryOwned(PetscObject object, const char *name, T **owned)
{
  PetscContainer container;
  void *pointer = nullptr;

  PetscFunctionBegin;
  PetscCall(PetscObjectQuery(object, name, (PetscObject *)&container));
  if (container) PetscCall(PetscContainerGetPointer(container, &pointer));
  *owned = static_cast<T *>(pointer);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace mcpi
