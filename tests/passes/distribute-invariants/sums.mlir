// adc opt --passes=distribute-invariants
// Of the two sums of a direction's iteration one is that of the function's values: its array is made before.

func.func @f(%a: memref<?x?xf64>, %x: memref<?xf64>, %d: memref<?x?xf64>, %out: memref<?x?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %a, 0 : memref<?x?xf64>
  %m = memref.dim %a, 1 : memref<?x?xf64>
  scf.parallel (%k) = (%c0) to (%c5) step (%c1) {
    %y = memref.alloc(%n) : memref<?xf64>
    %z = memref.alloc(%n) : memref<?xf64>
    scf.parallel (%i) = (%c0) to (%n) step (%c1) {
      %s, %t = scf.parallel (%j) = (%c0) to (%m) step (%c1) init (%zero, %zero) -> (f64, f64) {
        %1 = memref.load %a[%i, %j] : memref<?x?xf64>
        %2 = memref.load %x[%j] : memref<?xf64>
        %3 = memref.load %d[%k, %j] : memref<?x?xf64>
        %4 = arith.mulf %1, %2 : f64
        %5 = arith.mulf %1, %3 : f64
        scf.reduce(%4, %5 : f64, f64) {kinds = ["add", "add"]}
      }
      memref.store %s, %y[%i] : memref<?xf64>
      memref.store %t, %z[%i] : memref<?xf64>
      scf.reduce()
    }
    scf.parallel (%l) = (%c0) to (%n) step (%c1) {
      %6 = memref.load %y[%l] : memref<?xf64>
      %7 = memref.load %z[%l] : memref<?xf64>
      %8 = arith.mulf %6, %7 : f64
      memref.store %8, %out[%k, %l] : memref<?x?xf64>
      scf.reduce()
    }
    scf.reduce()
  }
  func.return
}

// becomes
func.func @f(%a: memref<?x?xf64>, %x: memref<?xf64>, %d: memref<?x?xf64>, %out: memref<?x?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %a, 0 : memref<?x?xf64>
  %m = memref.dim %a, 1 : memref<?x?xf64>
  %y = memref.alloc(%n) : memref<?xf64>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %s = scf.parallel (%j) = (%c0) to (%m) step (%c1) init (%zero) -> f64 {
      %0 = memref.load %a[%i, %j] : memref<?x?xf64>
      %1 = memref.load %x[%j] : memref<?xf64>
      %2 = arith.mulf %0, %1 : f64
      scf.reduce(%2 : f64) {kinds = ["add"]}
    }
    memref.store %s, %y[%i] : memref<?xf64>
    scf.reduce()
  }
  scf.parallel (%k) = (%c0) to (%c5) step (%c1) {
    %z = memref.alloc(%n) : memref<?xf64>
    scf.parallel (%i_0) = (%c0) to (%n) step (%c1) {
      %s_0, %t = scf.parallel (%j_0) = (%c0) to (%m) step (%c1) init (%zero, %zero) -> (f64, f64) {
        %3 = memref.load %a[%i_0, %j_0] : memref<?x?xf64>
        %4 = memref.load %x[%j_0] : memref<?xf64>
        %5 = memref.load %d[%k, %j_0] : memref<?x?xf64>
        %6 = arith.mulf %3, %4 : f64
        %7 = arith.mulf %3, %5 : f64
        scf.reduce(%6, %7 : f64, f64) {kinds = ["add", "add"]}
      }
      %s_1 = memref.load %y[%i_0] : memref<?xf64>
      memref.store %t, %z[%i_0] : memref<?xf64>
      scf.reduce()
    }
    scf.parallel (%l) = (%c0) to (%n) step (%c1) {
      %8 = memref.load %y[%l] : memref<?xf64>
      %9 = memref.load %z[%l] : memref<?xf64>
      %10 = arith.mulf %8, %9 : f64
      memref.store %10, %out[%k, %l] : memref<?x?xf64>
      scf.reduce()
    }
    scf.reduce()
  }
  func.return
}
